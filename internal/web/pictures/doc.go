// Package pictures has the handlers of pictures: their upload, their files, and the pictures that
// come with a post or belong to a profile.
package pictures
