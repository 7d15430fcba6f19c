import type { ErrorRows } from '../lib/errors.ts';
import { DocumentReader } from './docs/document-reader.ts';
import { html } from './docs/html.ts';
import { pageNavigation } from './docs/page-navigation.ts';
import { errorCodesSection, introductionSection, sharedObjectsSection, tagSection } from './docs/page-sections.ts';
import { pageStyle } from './docs/page-style.ts';
import { componentName } from './docs/schema-text.ts';
import { JSON_TYPE, type OpenApiDocument, type ResponseObject, type Tag } from './openapi/document.ts';

/** The document as a readable page: no script and no external resources, so that the strictest policy applies. */
export function docsPage(document: OpenApiDocument, errorRows: ErrorRows): string {
  const reader = new DocumentReader(document, errorRows);
  const objects = new Map(document.tags.map((tag) => [tag.name, objectOf(tag, reader)]));
  const bodies = bodyNames(reader);
  const shared = Object.keys(document.components.schemas).filter(
    (name) => !bodies.has(name) && ![...objects.values()].includes(name),
  );
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${document.info['title'] as string}</title>
${pageStyle}
</head>
<body>
<a class="to-contents" href="#contents">Contents</a>
${pageNavigation(reader)}
<main>
${introductionSection(reader)}
${document.tags.map((tag) => tagSection(tag, objects.get(tag.name) ?? null, reader))}
${sharedObjectsSection(shared, reader)}
${errorCodesSection(reader)}
</main>
</body>
</html>
`;
  return page.text;
}

/** The object that the resource's read returns. */
function objectOf(tag: Tag, reader: DocumentReader): string | null {
  const get = reader.operationsOf(tag.name).find(({ operation }) => operation.operationId === `${tag.name}.get`);
  const response = get?.operation.responses['200'];
  if (response === undefined) return null;
  const schema = reader.resolve<ResponseObject>(response).content?.[JSON_TYPE]?.schema;
  return schema === undefined ? null : componentName(schema);
}

function bodyNames(reader: DocumentReader): ReadonlySet<string | null> {
  const operations = reader.document.tags.flatMap((tag) => reader.operationsOf(tag.name));
  const schemas = operations.map(({ operation }) => operation.requestBody?.content[JSON_TYPE]?.schema);
  return new Set(schemas.map((schema) => (schema === undefined ? null : componentName(schema))));
}
