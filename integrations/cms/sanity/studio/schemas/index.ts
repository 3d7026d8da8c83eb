import {heroSection} from './heroSection.ts'
import {quoteOption} from './quoteOption.ts'
import {quoteSubmission} from './quoteSubmission.ts'
import {siteSettings} from './siteSettings.ts'

export const schemaTypes = [siteSettings, heroSection, quoteOption, quoteSubmission]
