import { declared, integer, type SettingValues } from '../../../src/kit/settings/setting.ts';

export const throwawaySettings = {
  throwaway_limit: declared(integer(1, 100), {
    default: 5,
    description: 'Characters that the greeting of a throwaway module may have.',
    risk: (limit) => (limit < 50 ? null : { message: 'greetings may be long', advice: 'lower throwaway_limit' }),
  }),
};

export type ThrowawaySettings = SettingValues<typeof throwawaySettings>;
