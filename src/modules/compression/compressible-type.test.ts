import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isCompressibleType, isEventStream } from './compressible-type.ts';

const COMPRESSED = `text/html|text/html; charset=utf-8|TEXT/HTML ;charset=UTF-8|text/plain|text/css|text/javascript|text/csv
|text/event-stream|text/x-anything|application/json|application/json;charset=utf-8|application/problem+json|application/ld+json
|application/javascript|application/xml|application/rss+xml|application/xhtml+xml|application/vnd.api+json|application/x-ndjson
|application/vnd.x+json-seq|application/wasm|application/manifest+json|application/vnd.github.v3+json|image/svg+xml|image/bmp
|image/x-icon|font/ttf|font/otf|application/vnd.ms-fontobject|model/gltf+json|application/yaml`;

const LEFT_ALONE = `image/png|image/jpeg|image/webp|image/avif|image/gif|video/mp4|audio/mpeg|audio/wav|application/zip
|application/gzip|application/zstd|application/x-7z-compressed|application/pdf|font/woff|font/woff2|application/octet-stream
|application/grpc|application/grpc+proto|application/grpc+json|application/grpc-web+proto|application/grpc-web-text
|application/vnd.openxmlformats-officedocument.wordprocessingml.document|application/epub+zip|multipart/byteranges; boundary=x
|multipart/x-mixed-replace|application/x-unknown|json|text||;|application/jsonx|xtext/html`;

function listed(list: string): readonly string[] {
  return list.replaceAll('\n', '').split('|');
}

suite('isCompressibleType', () => {
  for (const type of listed(COMPRESSED)) test(`compresses ${type}`, () => assert.equal(isCompressibleType(type), true));
  for (const type of listed(LEFT_ALONE))
    test(`leaves "${type}" alone`, () => assert.equal(isCompressibleType(type), false));
  test('leaves a body of unknown type alone', () => assert.equal(isCompressibleType(undefined), false));
});

test('recognizes an event stream by its type', () => {
  assert.equal(isEventStream('text/event-stream'), true);
  assert.equal(isEventStream('Text/Event-Stream; charset=utf-8'), true);
  assert.equal(isEventStream('text/event-streams'), false);
  assert.equal(isEventStream(undefined), false);
});
