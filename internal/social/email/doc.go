// Package email manages the e-mail addresses of users, and the mails to them: a confirmation link
// for an address, a reset link for a forgotten password, warnings, and a daily digest of
// notifications.
//
// An address belongs to at most one account, whose user has proved that they receive its mail.
// Whether an address belongs to an account is revealed only to the address itself. The secret of a
// link is not stored: it is created when the mail is written, and only its SHA-256 is kept.
//
//  1. Outbox.add stores a mail under a key that expires, and records a task that sends the mail.
//     [Outbox.Begin] records a warning before the change that it is about; its task checks whether
//     the change happened.
//  2. Service.task determines the recipient, writes the mail if the limits allow it, and sends it. A
//     mail that a server refuses permanently is not retried; any other failure is, until the key has
//     expired.
//  3. [Service.SendDigests] processes the due digests one after the other: each digest is postponed
//     by [digestLease], sent, and postponed until the next day.
//
// If a process dies after sending a mail and before recording that, the mail is sent again.
package email
