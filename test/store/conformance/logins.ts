import { suite } from 'node:test';
import { loginActivity } from './login-activity.ts';
import { loginChanges } from './login-changes.ts';
import { loginEnds } from './login-ends.ts';
import { loginRecording } from './login-recording.ts';
import type { OpenStore } from './store-under-test.ts';

export function logins(openStore: OpenStore): void {
  suite('logins', { concurrency: 3 }, () => {
    loginRecording(openStore);
    loginActivity(openStore);
    loginEnds(openStore);
    loginChanges(openStore);
  });
}
