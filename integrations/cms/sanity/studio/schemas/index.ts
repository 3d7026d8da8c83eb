import {consentText} from './consentText'
import {heroSection} from './heroSection'
import {quoteOption} from './quoteOption'
import {quoteRules} from './quoteRules'
import {quoteSubmission} from './quoteSubmission'
import {quoteTexts} from './quoteTexts'
import {siteSettings} from './siteSettings'

export const schemaTypes = [siteSettings, heroSection, quoteOption, quoteRules, quoteTexts, quoteSubmission, consentText]
