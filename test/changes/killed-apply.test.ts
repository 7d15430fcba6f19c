import { test } from 'node:test';
import { killWhileApplying } from './killed-apply.ts';

test('a server that is killed with SIGKILL while it applies a file has all of it or nothing', async (t) => {
  await killWhileApplying(t, 40);
});
