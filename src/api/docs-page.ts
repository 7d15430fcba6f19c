import type { OpenApiDocument } from './openapi/document.ts';

export function docsPage(_document: OpenApiDocument): string {
  return '<!doctype html>';
}
