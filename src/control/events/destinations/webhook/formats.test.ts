import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatBody, WEBHOOK_FORMATS } from './formats.ts';

const HOSTILE =
  '@everyone <!channel> <@U123> <https://evil.example|click> [click](https://evil.example) ```\n@here```\u202e *b* &lt;';
const envelope = (object: object, type = 'alert_raised.v0'): string =>
  JSON.stringify({ event_id: 'ev_1', event_type: type, object });
const hostile = envelope({ title: HOSTILE, status: 'raised', kind: 'agent_away', node: HOSTILE, raised_at: 'now' });

test('sends the envelope itself as json', () => {
  assert.equal(formatBody('json', hostile), hostile);
});

test('sends Slack a section of plain text, and a fallback without markup', () => {
  const body = JSON.parse(formatBody('slack', hostile));
  const [block] = body.blocks;
  assert.deepEqual([block.type, block.text.type, block.text.emoji], ['section', 'plain_text', false]);
  assert.match(block.text.text, /^Alert: @everyone <!channel>/);
  assert.doesNotMatch(body.text, /[<>]/);
  assert.match(body.text, /&lt;!channel&gt;.*&amp;lt;/);
  assert.deepEqual([body.unfurl_links, body.unfurl_media], [false, false]);
});

test('sends Discord a code block that nothing can leave, and no mentions', () => {
  const { content, allowed_mentions: mentions, flags } = JSON.parse(formatBody('discord', hostile));
  assert.deepEqual([mentions, flags], [{ parse: [] }, 4]);
  assert.deepEqual(
    [...content.matchAll(/`+/g)].map(({ index }) => index),
    [0, content.length - 3],
  );
});

test('sends Teams an adaptive card whose text has no Markdown', () => {
  const { type, attachments } = JSON.parse(formatBody('teams', hostile));
  const [{ contentType, content }] = attachments;
  assert.deepEqual([type, contentType], ['message', 'application/vnd.microsoft.card.adaptive']);
  assert.deepEqual([content.type, content.msteams], ['AdaptiveCard', undefined]);
  for (const block of content.body) {
    assert.equal(block.type, 'RichTextBlock');
    for (const run of block.inlines) assert.deepEqual([run.type, typeof run.text], ['TextRun', 'string']);
  }
});

test('stays below the limits of each service, whatever an event contains', () => {
  const long = Object.fromEntries(
    Array.from({ length: 500 }, (_, at) => [`field_${at}`, '\u{1f600}\u0001"'.repeat(5_000)]),
  );
  for (const text of [
    envelope(long, 'ip_policy_created.v0'),
    envelope({ ...long, title: '\u{1f600}'.repeat(9_000) }),
  ]) {
    assert.ok(JSON.parse(formatBody('slack', text)).blocks[0].text.text.length <= 3_000);
    assert.ok(JSON.parse(formatBody('discord', text)).content.length <= 2_000);
    assert.ok(Buffer.byteLength(formatBody('teams', text)) <= 28_000);
    for (const format of WEBHOOK_FORMATS) assert.ok(formatBody(format, text).isWellFormed(), format);
  }
});

test('shows the plain fields of other events, and says when an alert is resolved', () => {
  const created = envelope(
    { id: 'ipp_1', description: 'office', labels: {}, is_on: true, empty: '' },
    'ip_policy_created.v0',
  );
  assert.equal(
    JSON.parse(formatBody('slack', created)).blocks[0].text.text,
    'ip_policy_created.v0\nid: ipp_1\ndescription: office\nis_on: true',
  );
  assert.match(formatBody('slack', envelope({ title: 'x', status: 'resolved' })), /Resolved: x/);
});
