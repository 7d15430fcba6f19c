import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MissingPart } from '../../kit/load-part.ts';
import { type BasicAuthConfig, UserSeal } from './config.ts';

const ROUTES = 60;
const USERS = 20;

test('a change of many routes computes each password once, however often it is asked', async () => {
  let computed = 0;
  const seal = new UserSeal((password) => {
    computed += 1;
    return Promise.resolve(`hash of ${password}`);
  });
  const routes = Array.from({ length: ROUTES }, (_, route): BasicAuthConfig => {
    const users = Array.from({ length: USERS }, (_, at) => ({
      username: `u${at}`,
      password: `password ${route} ${at}`,
    }));
    return { enabled: true, options_passthrough: false, realm: 'x', users };
  });
  // As a changeset does: from the start after each part that was missing.
  for (let passes = 0; passes <= ROUTES; passes += 1) {
    try {
      for (const config of routes) seal.seal(config, { stored: null, seed: null });
      break;
    } catch (error) {
      if (!(error instanceof MissingPart)) throw error;
      await error.loaded;
    }
  }
  assert.equal(computed, ROUTES * USERS);
  assert.doesNotThrow(() => seal.seal(routes[0] as BasicAuthConfig, { stored: null, seed: null }));
});
