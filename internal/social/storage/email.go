package storage

import "retwis/internal/redis/keys"

// The records of package email: EmailModel, in EmailPartitions partitions; see EmailKey.
const (
	EmailModel      = "email"
	EmailPartitions = 64

	// EmailMeta exists once a user has given an address.
	EmailMeta = "{" + EmailModel + ".0}.meta"
)

// MailPrefix is the prefix of the keys of queued emails.
const MailPrefix = "mail:"

// MailKey is the string with a queued email, in JSON, under a random ID. It expires.
func MailKey(id string) string { return MailPrefix + id }

// emailBases are the key prefixes of EmailModel.
var emailBases = keys.Spread(EmailModel, EmailPartitions)

// EmailKey is the hash of a user's address: a record of package model.
func EmailKey(uid int64) string {
	id := Itoa(uid)
	return emailBases[keys.Partition(id, EmailPartitions)] + ":" + id
}
