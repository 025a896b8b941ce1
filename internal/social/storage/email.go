package storage

import "retwis/internal/redis/keys"

// The records of package email, of EmailModel in EmailPartitions: see EmailKey.
const (
	EmailModel      = "email"
	EmailPartitions = 64

	// EmailMeta is there as soon as somebody has given an address.
	EmailMeta = "{" + EmailModel + ".0}.meta"
)

// MailPrefix begins the keys of mails that wait.
const MailPrefix = "mail:"

// MailKey is a mail that waits to be sent, in JSON, by a random id. It expires.
func MailKey(id string) string { return MailPrefix + id }

// emailBases are the beginnings of the keys of EmailModel.
var emailBases = keys.Spread(EmailModel, EmailPartitions)

// EmailKey is the hash of a user's address: a record of package model.
func EmailKey(uid int64) string {
	id := Itoa(uid)
	return emailBases[keys.Partition(id, EmailPartitions)] + ":" + id
}
