package boxes

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// readPage follows the operators of a page's contents.
func readPage(stream []byte, bold map[string]bool) (Page, error) {
	var (
		page   Page
		stack  []string // operands
		font   string
		size   float64
		fill   Colour
		stroke Colour
		width  float64 // of lines, in points
		x, y   float64 // of the text, or where a line begins
		saved  []Colour
		matrix [4]float64 // width, height, x and y of the next picture
		lineX  float64
	)
	number := func(fromEnd int) float64 {
		if fromEnd > len(stack) {
			return 0
		}
		v, _ := strconv.ParseFloat(stack[len(stack)-fromEnd], 64)
		return v
	}
	colour := func(n int) Colour {
		level := func(i int) int { return int(number(i)*255 + 0.5) }
		if n == 1 {
			return Colour{level(1), level(1), level(1)}
		}
		return Colour{level(3), level(2), level(1)}
	}
	tokens := scanner{rest: string(stream)}
	for {
		token, ok, err := tokens.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			return page, nil
		}
		switch token {
		case "q":
			saved = append(saved, fill)
		case "Q":
			if len(saved) == 0 {
				return nil, errors.New("the page restores what it has not saved")
			}
			fill, saved = saved[len(saved)-1], saved[:len(saved)-1]
		case "rg":
			fill = colour(3)
		case "g":
			fill = colour(1)
		case "RG":
			stroke = colour(3)
		case "G":
			stroke = colour(1)
		case "w":
			width = number(1)
		case "Tf":
			font, size = strings.TrimPrefix(stack[len(stack)-2], "/F"), number(1)
		case "Td":
			x, y = number(2), number(1)
		case "Tj":
			page = append(page, Mark{Kind: Text, X: mm(x), Y: mm(pageHeight - y), Text: utf16Text(stack[len(stack)-1]),
				Bold: bold[font], Size: size, Colour: fill})
		case "m":
			lineX, y = number(2), number(1)
		case "l":
			page = append(page, Mark{Kind: Bar, X: mm(lineX), Y: mm(pageHeight - y - width/2),
				W: mm(number(2) - lineX), H: mm(width), Colour: stroke})
		case "cm":
			matrix = [4]float64{number(6), number(3), number(2), number(1)}
		case "Do":
			page = append(page, Mark{Kind: Picture, X: mm(matrix[2]), Y: mm(pageHeight - matrix[3] - matrix[1]),
				W: mm(matrix[0]), H: mm(matrix[1])})
		case "BT", "ET", "S", "J", "j":
		default:
			stack = append(stack, token)
			continue
		}
		stack = stack[:0]
	}
}

// scanner cuts page contents into operands and operators.
type scanner struct{ rest string }

// next returns the next token; a string operand without its brackets.
func (s *scanner) next() (token string, ok bool, err error) {
	s.rest = strings.TrimLeft(s.rest, " \n\r\t")
	if s.rest == "" {
		return "", false, nil
	}
	if s.rest[0] != '(' {
		end := strings.IndexAny(s.rest, " \n\r\t(")
		if end < 0 {
			end = len(s.rest)
		}
		token, s.rest = s.rest[:end], s.rest[end:]
		return token, true, nil
	}
	for i := 1; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case ')':
			token, s.rest = s.rest[1:i], s.rest[i+1:]
			return token, true, nil
		}
	}
	return "", false, fmt.Errorf("a string of %d bytes has no end", len(s.rest))
}
