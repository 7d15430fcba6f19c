import type { JsonObject } from '../lib/json.ts';

export function docsPage(_document: JsonObject): string {
  return '<!doctype html>';
}
