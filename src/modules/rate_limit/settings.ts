import { declared, integer, type SettingValues } from '../../kit/settings/setting.ts';

/** Settings for rate limits on the whole server. */
export const rateLimitSettings = {
  rate_limit_keys: declared(integer(1_024, 16_777_216), {
    group: 'Limits of the edge',
    default: 262_144,
    description:
      'Keys of rate limits, such as addresses, that this node remembers at once, rounded up to a power of two. Each takes 32 bytes of memory once it is used. Among more keys, those that have used the least of their limit are forgotten first.',
  }),
};

export type RateLimitSettings = SettingValues<typeof rateLimitSettings>;
