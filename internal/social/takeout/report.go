package takeout

// Reasons why a picture is left out.
const (
	NoPlace    Reason = "no_place"     // this process has no picture store
	NoPicture  Reason = "no_picture"   // such as a video
	NoFile     Reason = "no_file"      // missing in the archive
	WrongType  Reason = "wrong_type"   // not JPEG, PNG, GIF or WebP
	TooLarge   Reason = "too_large"    // see package picture
	Damaged    Reason = "damaged"      // or takes too long to decode
	NoRoom     Reason = "no_room"      // the author's quota of pictures is used up
	FourAtMost Reason = "four_at_most" // the post already has four pictures
)

// Report counts what an import has done, or would do.
type Report struct {
	Posts    int `json:"posts"`   // new posts
	Present  int `json:"present"` // posts that were already here
	Split    int `json:"split"`   // those of Posts and Present that continue a post that was too long
	Pictures int `json:"pictures"`
	// LeftOut counts activities, and PicturesLeftOut the files of new posts.
	LeftOut         map[Reason]int `json:"left_out"`
	PicturesLeftOut map[Reason]int `json:"pictures_left_out"`
}

func newReport() Report {
	return Report{LeftOut: map[Reason]int{}, PicturesLeftOut: map[Reason]int{}}
}
