// Package picture converts uploaded files into pictures that are safe to serve: upright, in sRGB,
// without metadata, in the sizes that pages need.
//
// No part of a file is passed on. It is decoded and encoded again, so that anything hidden in it
// (positions, thumbnails, scripts, other files) is lost.
//
//  1. [Maker.Make] reads the header with parse, which determines what decoding will take.
//  2. turns.Queue.Acquire waits for that much of the memory budget.
//  3. job.source decodes the file, through a reader with a deadline.
//  4. shrink scales, profile.convert converts the colors to sRGB, upright turns the result.
//  5. job.encode writes each size.
//
// # Limits
//
// A file has at most [MaxBytes] and [MaxPixels]; a file that would take more memory than the
// whole budget is too large as well, such as a progressive JPEG of 30 megapixels. The memory is
// computed from the header, which the decoders cannot exceed. Time is limited where decoders
// read, encoders write and rows are scaled: work ends at most a second or two late, because a
// decoder that has read the whole file may finish it.
//
// Profiles with a matrix and curves, which cameras and phones write, are applied; table-based
// profiles, as of printers, are not, and CMYK is converted without a profile. Of an animated WebP
// or PNG only the first picture is used.
package picture
