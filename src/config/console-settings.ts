import { required } from '../lib/settings/setting.ts';
import { integer } from '../lib/settings/setting-kinds.ts';

/** Settings of the console at /console. */
export const consoleSettings = {
  console_session_idle: required(integer(60, 2_592_000), {
    description: 'Seconds without a request after which a session of the console ends.',
  }),
  console_session_lifetime: required(integer(60, 31_536_000), {
    description: 'Seconds after which a session of the console ends, even if it is in use.',
  }),
};
