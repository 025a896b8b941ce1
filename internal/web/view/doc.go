// Package view renders the pages of the site: it has a component for each page (*.templ) and the
// struct that the component shows. The package does not depend on requests and sessions. A handler
// reads what a page needs, fills in the struct and gets HTML.
//
// Each page has a [Frame], which describes everything around its content. Posts are rendered once
// for each of their versions ([RenderPost]), and parts shared by many pages are kept in [Caches].
package view
