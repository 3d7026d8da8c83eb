package cms

// ConsentType is the document type of the consent texts shown to visitors, with one
// document for each purpose and language:
//
//	{
//	  "_id": "consent-marketing-en", "_type": "consentText", "language": "en",
//	  "purpose": "marketing", "text": "Send me news by e-mail, at most once a month."
//	}
const ConsentType = "consentText"
