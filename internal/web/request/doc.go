// Package request is the life of a request to the site, whatever page it is for: its session, its
// form, its response, and what an error looks like. A [Site] has what all requests have in common;
// [Site.Handler] makes an http.Handler of a [Page], a function of a [Request] that may fail.
//
// # The path of a request
//
//  1. Site.Handler gives the request a deadline and an id, and sets the headers of all pages.
//  2. Site.run reads the form, refuses to go on while the database is silent, and waits until
//     the process knows what others have changed.
//  3. Site.identify reads the session's cookie.
//  4. The page runs. It reads what it shows and calls Request.Render, or, after a change,
//     Request.Changed, which redirects.
//  5. Site.fail makes a page of an error; request.describe decides what it says.
//  6. Site.logRequest writes a line for each failure.
package request
