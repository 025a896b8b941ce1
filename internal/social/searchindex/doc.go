// Package searchindex keeps the words of posts and of people in two indexes of the toolkit
// (see retwis/index/text), for package search.
//
// An index does not store texts. To change a document, a writer must know which text the
// index has: so whatever edits or deletes a post keeps its earlier texts until the index no
// longer needs them, and tries one after the other.
package searchindex
