// Package view has the pages of the site: a component for each page (*.templ), and beside it
// the struct that it shows. It knows no request and no session. A handler reads
// what a page needs, fills the struct and gets HTML.
//
// Each page begins with a [Frame], what it has around it. Posts are rendered once for each of
// their versions ([RenderPost]), and what many pages have in common is kept in [Caches].
package view
