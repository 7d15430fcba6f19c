import type { ProviderDefinition, ProviderName } from '../provider-definition.ts';
import { amazon } from './amazon.ts';
import { facebook } from './facebook.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { google } from './google.ts';
import { linkedin } from './linkedin.ts';
import { microsoft } from './microsoft.ts';
import { twitch } from './twitch.ts';

export const providerDefinitions: Readonly<Record<ProviderName, ProviderDefinition>> = {
  amazon,
  facebook,
  github,
  gitlab,
  google,
  linkedin,
  microsoft,
  twitch,
};
