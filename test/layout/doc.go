// Package layout tests the repository itself: imports go down one way, commands and links in documents lead to something that exists,
// the documentation stays short, workflows pin actions, and OSS-Fuzz builds each fuzz target.
package layout
