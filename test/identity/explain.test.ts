import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { AgentWorld, hostOf } from './agent-world.ts';
import { IDENTITY_HOST, IDENTITY_ISSUER } from './without-proof.ts';

const world = await AgentWorld.open({ after });
const env = operatorEnv(world.edge.world);

async function explained(url: string, fields: object = {}) {
  return world.edge.api('POST', '/explain', { url, ...fields });
}

function refusedBy({
  decisions,
}: {
  readonly decisions: readonly { module: string; decision: string; reason: string }[];
}): string {
  const refused = decisions.find(({ decision }) => decision === 'refuse');
  return `${refused?.module} ${refused?.reason}`;
}

suite('an explanation', () => {
  test('says that the server itself serves the identity host, and no edge does', async () => {
    const wildcard = await world.edge.edge('*.localhost');
    const { edge, route, decisions, outcome } = await explained(`${IDENTITY_ISSUER}/sign-in`);
    assert.deepEqual([edge, route, outcome.targets], [null, null, []]);
    assert.deepEqual([decisions[0].reason, decisions[0].decision], ['identity_host', 'pass']);
    assert.match(decisions[0].text, /No edge and no tunnel serves it/);
    const { stdout } = await runCommand(['explain', `${IDENTITY_ISSUER}/`], { env });
    assert.match(
      stdout,
      /^site {3}none has the host id\.localhost\n[\s\S]*✓ identity: identity_host – The server itself serves id\.localhost/,
    );
    assert.match(stdout, /outcome {2}served by the edge itself\n$/);
    const plain = await explained(`http://${IDENTITY_HOST}/`);
    assert.deepEqual([plain.decisions[0].reason, plain.outcome.status], ['redirect_to_https', 308]);
    const below = await explained(`https://a.${IDENTITY_HOST}/`);
    assert.deepEqual([below.edge, below.decisions[0].reason], [null, 'below_identity_host']);
    await world.edge.api('DELETE', `/edges/https/${wildcard}`);
  });

  test('says that a route logs people in, and what a person may do there', async () => {
    const site = await world.identity.site();
    await world.edge.api('PUT', `${site.routePath}/access`, { allow: [{ claims: { groups: ['ops'] } }] });
    const url = `https://${site.host}/`;
    const stranger = await explained(url);
    assert.deepEqual([stranger.outcome.status, refusedBy(stranger)], [401, 'oidc no_session']);
    const as = (groups: readonly string[]) => ({ as: { email: 'nobody@example.com', claims: { groups } } });
    assert.equal((await explained(url, as(['ops']))).outcome.targets.length, 1);
    assert.equal((await explained(url, as(['sales']))).outcome.status, 403);
  });

  test('explains the address of an agent whose people log in here', async () => {
    const host = hostOf(await world.agent((await world.credential()).token));
    const stranger = await explained(`https://${host}/`);
    assert.deepEqual([stranger.outcome.status, refusedBy(stranger)], [401, 'oidc no_session']);
    const person = await explained(`https://${host}/`, { as: { email: 'ana@example.com' } });
    assert.equal(person.outcome.targets[0]?.kind, 'tunnel', JSON.stringify(person));
  });
});
