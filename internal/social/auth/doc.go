// Package auth logs users in: passwords, second factors and reset links ([Service]), passkeys
// ([Passkeys]), and the sessions that a log-in opens ([Sessions]). A [Hasher] hashes and verifies
// passwords, a bounded number at a time.
//
// # The path of a session
//
//  1. [Service.Login] checks the password; Sessions.OpenSession writes the session.
//  2. request.Site.identify reads the cookie of each request and calls [Sessions.SessionUser].
//  3. Sessions.sessionUser compares its token with the user's own list of sessions, from
//     memory, which the server invalidates when the list changes.
//  4. Sessions.inUse records once an hour that the session is in use, and ends an expired one.
//  5. [Sessions.Logout] removes the session from the list, which ends it in all processes.
package auth
