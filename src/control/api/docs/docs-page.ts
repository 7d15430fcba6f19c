import type { ErrorRows } from '../../../kit/errors.ts';
import { JSON_TYPE, type OpenApiDocument, type ResponseObject, type Tag } from '../openapi/document.ts';
import { componentName, DocumentReader } from './field-list.ts';
import { Html, html } from './html.ts';
import { errorCodesSection, introductionSection, sharedObjectsSection, tagSection } from './page-sections.ts';

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

/** Resources and modules with their operations. Collapsible without script. */
export function pageNavigation(reader: DocumentReader): Html {
  return html`<nav id="contents" aria-label="Contents"><p class="brand"><a href="#top">Postern</a> <span class="version">${reader.document.info['version'] as string}</span></p>
<ul>${reader.document.tags.map((tag) => {
    const operations = reader.operationsOf(tag.name);
    // A module's tag is its resource's tag, a dot and its own name.
    return html`<li ${tag.name.includes('.') && html`class="module"`}><details name="contents"><summary>${tag['x-displayName']}</summary><ul>
<li><a href="#${tag.name}">Overview</a></li>${operations.map(
      ({ method, operation }) =>
        html`<li><a href="#${operation.operationId}"><span class="method ${method}">${method.toUpperCase()}</span> ${operation.operationId.split('.').at(-1)}</a></li>`,
    )}</ul></details></li>`;
  })}
<li class="plain"><a href="#shared-objects">Shared objects</a></li>
<li class="plain"><a href="#errors">Errors</a></li>
</ul></nav>`;
}

/** Inline, because the page may load nothing. System fonts, and the reader's light or dark mode. */
export const pageStyle = new Html(`<style>
:root {
  --ground: #fff; --raised: #f6f7f9; --text: #1c2330; --muted: #5d6878; --line: #e1e5eb; --link: #0b57c2; --code: #f0f2f5;
  --get: #0a6b3d; --post: #0b57c2; --put: #8a5300; --patch: #6d3fb5; --delete: #b3261e; --target: #fff7dc;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12161d; --raised: #191f29; --text: #e3e8ef; --muted: #98a4b5; --line: #2a3240; --link: #7db4ff; --code: #1f2733;
    --get: #5fd394; --post: #7db4ff; --put: #f0b35a; --patch: #c2a1ff; --delete: #ff8d85; --target: #2a2715;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); background: var(--ground); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .875em; }
p code, dd code, li code, summary code { background: var(--code); padding: .1em .3em; border-radius: 4px; overflow-wrap: anywhere; }
pre { margin: .5rem 0; padding: .9rem 1rem; overflow-x: auto; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; line-height: 1.45; }
pre code { font-size: .8125rem; }
summary { cursor: pointer; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.5rem; margin: 0 0 .5rem; }
h3 { font-size: 1.125rem; margin: 0 0 .25rem; }
h4 { font-size: .8125rem; text-transform: uppercase; letter-spacing: .05em; color: var(--muted); margin: 1.25rem 0 .35rem; }
.version, .type, .constraints, .scope, .none { color: var(--muted); font-size: .875rem; font-weight: normal; overflow-wrap: anywhere; }
.to-contents { display: none; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.25rem .75rem 3rem 1.25rem; border-right: 1px solid var(--line); background: var(--raised); font-size: .9375rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav ul ul { padding: 0 0 .5rem .9rem; font-size: .875rem; }
nav a { display: block; padding: .15rem .35rem; color: inherit; border-radius: 4px; }
nav summary, nav .plain a { padding: .2rem .35rem; border-radius: 4px; }
nav summary:hover, nav a:hover { background: var(--code); text-decoration: none; }
nav .module { padding-left: .9rem; }
nav .module summary { color: var(--muted); }
nav .method { width: 3.4rem; padding: 0; border: 0; text-align: left; }
.brand { margin: 0 0 .75rem .35rem; font-size: 1.125rem; font-weight: 650; }
.brand a { display: inline; padding: 0; }
main { padding: 2.5rem clamp(1rem, 3vw, 3rem) 6rem; max-width: 84rem; min-width: 0; }
main > header > p { max-width: 46rem; }
section { margin-top: 3rem; padding-top: 2rem; border-top: 1px solid var(--line); }
section > p { max-width: 46rem; margin: 0 0 1rem; }
.anchor { color: var(--muted); font-weight: normal; opacity: 0; }
:is(h2, h3):hover .anchor, .anchor:focus { opacity: 1; }
.operation { margin: 2.25rem 0; }
.operation:target { border-left: 3px solid var(--link); margin-left: -1rem; padding-left: calc(1rem - 3px); }
.fields > div:target { background: var(--target); box-shadow: 0 0 0 .35rem var(--target); border-radius: 2px; }
[id^="schema-"] { scroll-margin-top: 4rem; }
.endpoint { margin: 0 0 .75rem; display: flex; gap: .6rem; align-items: baseline; }
.endpoint code { overflow-wrap: anywhere; }
.method { display: inline-block; flex: none; font: 650 .75rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; border: 1px solid currentColor; border-radius: 4px; padding: 0 .4rem; }
.get { color: var(--get); } .post { color: var(--post); } .put { color: var(--put); } .patch { color: var(--patch); } .delete { color: var(--delete); }
.columns > div { min-width: 0; }
.columns p { margin: 0 0 .5rem; }
.fields { margin: 0; }
.fields > div { padding: .45rem 0; border-top: 1px solid var(--line); }
.fields dt > code { font-weight: 650; overflow-wrap: anywhere; }
.fields dd { margin: .1rem 0 0; font-size: .9375rem; }
.fields dd details { margin: .35rem 0 0; padding-left: .75rem; border-left: 2px solid var(--line); }
.constraints { display: block; overflow-wrap: anywhere; }
.presence { font-size: .8125rem; color: var(--delete); font-weight: 600; }
.status { color: var(--get); }
.object, .errors { margin: .75rem 0; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: 8px; }
.object > summary, .errors > summary { font-weight: 600; }
.errors { margin-top: 1.25rem; font-size: .875rem; }
.errors dl { margin: .5rem 0 0; }
.errors dl > div { display: grid; grid-template-columns: 3rem minmax(0, 1fr); padding: .2rem 0; }
.errors dd { margin: 0; }
.examples h4:first-child { margin-top: 0; }
.examples pre { max-height: 30rem; }
@media (min-width: 75rem) {
  .columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2.5rem; }
}
@media (max-width: 48rem) {
  body { display: flex; flex-direction: column; }
  nav { order: 2; position: static; height: auto; border-right: 0; border-top: 1px solid var(--line); padding: 1.5rem 1rem 4rem; font-size: 1rem; }
  nav a, nav summary, nav .plain a { padding-block: .4rem; }
  main { padding-top: 1.5rem; padding-bottom: 3rem; }
  h1 { font-size: 1.625rem; }
  .anchor { opacity: 1; }
  .to-contents { display: block; position: fixed; right: 1rem; bottom: 1rem; z-index: 1; padding: .5rem 1rem; border-radius: 2rem; background: var(--link); color: var(--ground); font-weight: 600; box-shadow: 0 2px 10px rgb(0 0 0 / .3); }
}
@media print { nav, .to-contents, .anchor { display: none; } body { display: block; } }
</style>`);
