// Package request handles the parts of a request to the site that do not depend on the page: its
// session, its form, its response and error pages. A [Site] holds what all requests share;
// [Site.Handler] makes an http.Handler from a [Page], a function of a [Request] that may fail.
//
// # The path of a request
//
//  1. Site.Handler gives the request a deadline and an ID, and sets the headers of all pages.
//  2. Site.run reads the form, fails if the database does not answer, and waits until this process
//     has received the changes of other processes.
//  3. Site.identify reads the session cookie.
//  4. The page runs. It reads what it shows and calls Request.Render, or, after a change,
//     Request.Changed, which redirects.
//  5. Site.fail turns an error into a page; describe chooses the status and the text of the page.
//  6. Site.logRequest writes a line for each failure.
package request
