import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { shellBlocks } from './markdown.ts';
import { Reader } from './reader.ts';

test('the commands of the inspector page replay the last request', async (t) => {
  const reader = await Reader.open({ after: (task) => t.after(task) });
  const paths: string[] = [];
  const service = createServer((request, response) => {
    paths.push(String(request.url));
    response.end('ok\n');
  });
  await new Promise<void>((resolve) => {
    service.listen(Number(reader.port('3000')), '127.0.0.1', resolve);
  });
  t.after(() => service.close());
  const agent = reader.terminal();
  const terminal = reader.terminal();
  try {
    const output = await agent.start(
      `node bin/postern.mjs http ${reader.port('3000')} --inspect-addr 127.0.0.1:0`,
      /https:\/\/\S+\.localhost:\d+[\s\S]*http:\/\/127\.0\.0\.1:\d+|http:\/\/127\.0\.0\.1:\d+[\s\S]*https:\/\/\S+\.localhost:\d+/,
    );
    const url = /https:\/\/[a-z0-9-]+\.localhost:\d+/.exec(output)?.[0];
    const inspector = [...output.matchAll(/http:\/\/127\.0\.0\.1:(\d+)/g)].find(
      ([, port]) => port !== reader.port('3000'),
    );
    await terminal.run(`node bin/postern.mjs ca print > ca.pem && curl -s --cacert ca.pem ${url}/once`);
    assert.deepEqual(paths, ['/once']);
    const [block] = shellBlocks('docs/reference/inspector.md');
    const answer = await terminal.run(block?.text.replace('http://127.0.0.1:7040', inspector?.[0] ?? '') ?? 'false');
    assert.match(answer, /"id":"req_/);
    const deadlineMs = performance.now() + 60_000;
    while (paths.length < 2 && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(paths, ['/once', '/once']);
  } finally {
    await agent.close();
    await terminal.close();
  }
});
