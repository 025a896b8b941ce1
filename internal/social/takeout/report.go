package takeout

// Why a picture is left out.
const (
	NoPlace    Reason = "no_place"     // this process has no place for pictures
	NoPicture  Reason = "no_picture"   // but a video, say
	NoFile     Reason = "no_file"      // the archive does not have it
	WrongType  Reason = "wrong_type"   // no JPEG, PNG, GIF or WebP
	TooLarge   Reason = "too_large"    // see package picture
	Damaged    Reason = "damaged"      // or takes too long to decode
	NoRoom     Reason = "no_room"      // the author has no room for more pictures
	FourAtMost Reason = "four_at_most" // the post has four others
)

// Report says what an import has done, or would do.
type Report struct {
	Posts    int `json:"posts"`   // that are new
	Present  int `json:"present"` // that were here before
	Split    int `json:"split"`   // of both: continue a post that was too long
	Pictures int `json:"pictures"`
	// LeftOut counts activities, and PicturesLeftOut the files of new posts.
	LeftOut         map[Reason]int `json:"left_out"`
	PicturesLeftOut map[Reason]int `json:"pictures_left_out"`
}

func newReport() Report {
	return Report{LeftOut: map[Reason]int{}, PicturesLeftOut: map[Reason]int{}}
}
