// Package picture turns a file that a stranger sends into pictures that are safe to serve:
// upright, in sRGB, without metadata, in the sizes that pages need.
//
// Nothing of a file is passed on. It is decoded and encoded anew, so that what hides in it
// (positions, thumbnails, scripts, other files) stays behind.
//
//  1. [Maker.Make] reads the header with parse, which says what decoding will take.
//  2. turns.Queue.Acquire waits for that much of the budget of memory.
//  3. job.source decodes the file, with the reader of a deadline.
//  4. shrink scales, profile.convert makes the colours sRGB, upright turns the result.
//  5. job.encode writes each size.
//
// # Limits
//
// A file has at most [MaxBytes] and [MaxPixels]; one that would take more memory than the
// whole budget is too large as well, such as a progressive JPEG of 35 megapixels or more.
// The memory is computed from the header, which the decoders cannot exceed. The time is
// limited where decoders read, encoders write and rows are scaled: work ends at most about
// a second after its time, because a decoder that has read the file may finish it.
//
// Profiles of a matrix and curves are applied, which is what cameras and phones write;
// those of tables, of printers, are not, and CMYK is converted without a profile. Of an
// animated WebP and PNG the first picture is used.
package picture
