// Package email manages the email addresses of users, and the emails to them: a confirmation link
// for an address, a reset link for a forgotten password, warnings, and a daily digest of
// notifications.
//
// An address belongs to at most one account, whose user has proved that they receive its mail.
// Whether an address belongs to an account is revealed only to the address itself. The secret of a
// link is not stored: it is created when the email is written, and only its SHA-256 is kept.
//
//  1. Outbox.add stores an email under a key that expires, and records a task that sends the email.
//     [Outbox.Begin] records a warning before the change that it is about; its task checks whether
//     the change happened.
//  2. Service.task determines the recipient, writes the email if the limits allow it, and sends it.
//     An email that a server refuses permanently is not retried; after any other failure, the task
//     is retried until the key has expired.
//  3. [Service.SendDigests] processes the due digests one after the other: each digest is postponed
//     by [digestLease], sent, and postponed until the next day.
//
// If a process dies after sending an email and before recording that, the email is sent again.
package email
