package pdf

import (
	"fmt"
	"strconv"
	"strings"
)

// explicitPath writes path data out in full: a letter for every segment, blanks
// between all numbers. The drawing library loses segments of data in the short form
// that optimisers write, in which letters and the blanks around flags are left out.
func explicitPath(data string) (string, error) {
	var (
		out     strings.Builder
		command byte
		rest    = data
	)
	broken := func() (string, error) {
		return "", fmt.Errorf("path data is broken near byte %d", len(data)-len(rest))
	}
	for {
		rest = strings.TrimLeft(rest, " ,\t\r\n")
		if rest == "" {
			return out.String(), nil
		}
		switch c := rest[0]; {
		case strings.IndexByte("MmLlHhVvCcSsQqTtAaZz", c) >= 0:
			command, rest = c, rest[1:]
		case command == 0 || command == 'z' || command == 'Z':
			return broken()
		// Further pairs of a move are lines.
		case command == 'M':
			command = 'L'
		case command == 'm':
			command = 'l'
		}
		out.WriteByte(command)
		arc := command == 'a' || command == 'A'
		for i := range arguments(command) {
			rest = strings.TrimLeft(rest, " ,\t\r\n")
			n := numberLength(rest)
			if arc && (i == 3 || i == 4) { // flags are single digits
				n = min(n, 1)
			}
			value, err := strconv.ParseFloat(rest[:n], 64)
			if n == 0 || err != nil {
				return broken()
			}
			out.WriteByte(' ')
			out.WriteString(strconv.FormatFloat(value, 'f', -1, 64))
			rest = rest[n:]
		}
		out.WriteByte(' ')
	}
}

// arguments returns how many numbers a segment takes.
func arguments(command byte) int {
	switch command {
	case 'M', 'm', 'L', 'l', 'T', 't':
		return 2
	case 'H', 'h', 'V', 'v':
		return 1
	case 'C', 'c':
		return 6
	case 'S', 's', 'Q', 'q':
		return 4
	case 'A', 'a':
		return 7
	default:
		return 0
	}
}

// numberLength returns how many bytes of s make up the number it begins with.
func numberLength(s string) int {
	digits, dot := false, false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits = true
		case (c == '-' || c == '+') && i == 0:
		case c == '.' && !dot:
			dot = true
		case (c == 'e' || c == 'E') && digits:
			// An exponent ends the number, with or without a sign of its own.
			j := i + 1
			if j < len(s) && (s[j] == '-' || s[j] == '+') {
				j++
			}
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				j++
			}
			return j
		default:
			return i
		}
	}
	return len(s)
}
