import {consentText} from './consentText'
import {heroSection} from './heroSection'
import {quoteOption} from './quoteOption'
import {quoteRules} from './quoteRules'
import {quoteSubmission} from './quoteSubmission'
import {siteSettings} from './siteSettings'

export const schemaTypes = [siteSettings, heroSection, quoteOption, quoteRules, quoteSubmission, consentText]
