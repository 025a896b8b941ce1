// Package email manages the e-mail addresses of users, and the mails to them: a confirmation link
// for an address, a reset link for a forgotten password, warnings, and a daily digest of
// notifications.
//
// An address belongs to one account, and only to one that has proved that it receives its mail.
// Whether an address is known here is revealed only to the address itself. No secret of a link is
// stored: it is created when the mail is written, and its SHA-256 is kept.
//
//  1. [Outbox.Begin] records a mail, a key that expires, and a task that sends it. A warning is
//     recorded before the change that it is about, and its task checks whether the change happened.
//  2. Service.task determines the recipient, writes the mail if the limits allow it, and sends it. A
//     mail that a server refuses permanently is not retried; any other failure is, until the key has
//     expired.
//  3. [Service.SendDigests] takes the users whose digest is due, one after the other: each digest is
//     postponed by [digestLease], sent, and postponed until the next day.
//
// A process that dies between sending a mail and recording that sends it again.
package email
