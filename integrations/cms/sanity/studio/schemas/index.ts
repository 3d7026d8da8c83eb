import {heroSection} from './heroSection.ts'
import {quoteOption} from './quoteOption.ts'
import {quoteRules} from './quoteRules.ts'
import {quoteSubmission} from './quoteSubmission.ts'
import {siteSettings} from './siteSettings.ts'

export const schemaTypes = [siteSettings, heroSection, quoteOption, quoteRules, quoteSubmission]
