import { settingsCost } from './settings-cost.ts';

/** CPU per request with the request history and Postern-Request-Id, compared with neither. */
export async function history(directory: string): Promise<void> {
  await settingsCost(directory, {
    what: 'history',
    off: { POSTERN_REQUEST_HISTORY: '0', POSTERN_REQUEST_ID_HEADER: 'false' },
    on: {},
    goal: 1.02,
  });
}
