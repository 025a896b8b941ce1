// Package search finds posts and people by their words, as a viewer sees them. The index is
// that of package searchindex.
//
// # The path of a search
//
//  1. [Parse] reads what was typed: words for the index, and operators such as from:ada.
//  2. Service.resolve finds the users that it names, and the posts with which days begin.
//  3. searchindex.Posts.Search returns ids, the newest first.
//  4. Service.found leaves out the authors who do not want to be found.
//  5. timeline.Lists.Page leaves out what the viewer must not see, and looks further.
//  6. [Marker.Find] finds the words in the texts that a page shows.
package search
