// Package about has the pages that say what the site is and who runs it, those on which its
// operators change that, and what browsers ask for to install it.
package about
