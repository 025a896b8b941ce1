// Package email has the e-mail addresses of users, and the mails to them: a link that confirms an
// address, one for a forgotten password, warnings, and a daily digest of notifications.
//
// An address belongs to one account, and only to one that has shown that it gets its mails.
// Whether an address is known here is never said, but to the address itself. No secret of a link
// is stored: it is made when the mail is written, and its SHA-256 is kept.
//
//  1. [Outbox.Begin] notes a mail, a key that expires, and a task that sends it. A warning is
//     noted before the change that it is about, and its task looks whether that has happened.
//  2. Service.task finds out who gets it, writes it where the limits allow it, and sends it. What a
//     server refuses for good is not tried again; all else is, until the key has expired.
//  3. [Service.SendDigests] takes the users whose digest is due, one after the other: each is put
//     off by [digestLease], sent, and put off until the next day.
//
// A process that dies between the sending of a mail and the note of that sends it again.
package email
