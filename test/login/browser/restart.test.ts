// Long form: the same restart with a browser. Short form: test/login/restart.test.ts
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { LoginWorld } from '../../support/login-world.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { Chromium, skip } from './visitor.ts';

const chromium = await Chromium.open({ after });

test('a session survives a restart of the server', { skip }, async (t) => {
  const dataDir = await tempDir(t);
  const world = await LoginWorld.open(t, { dataDir });
  const { host } = await world.site();
  const visitor = await chromium.visitor(t);
  const url = `${world.origin(host)}/page?x=1#part`;
  const page = await visitor.logIn(url);
  await world.edge.world.close();
  await assert.rejects(page.reload(), /ERR_CONNECTION/, 'nobody is there');

  await EdgeWorld.open(t, { POSTERN_EDGE_LISTEN: `127.0.0.1:${world.edge.port}` }, { dataDir, clock: world.clock });
  const answer = await page.goto(url);
  assert.equal(answer?.status(), 200);
  assert.match((await page.locator('body').textContent()) ?? '', /"postern-auth-user-email":"alice@example.com"/);
  assert.equal(visitor.loginsAt(world.provider.issuer), 1);
});
