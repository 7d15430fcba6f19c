import type { Tag } from '../openapi/document.ts';
import { OUTSIDE_OPERATIONS } from '../openapi/error-responses.ts';
import type { DocumentReader } from './document-reader.ts';
import { fieldList } from './field-list.ts';
import { type Html, html, prose } from './html.ts';
import { errorCodesOf, operationSection } from './operation-section.ts';
import { typeText } from './schema-text.ts';

export function introductionSection(reader: DocumentReader): Html {
  const { info } = reader.document;
  return html`<header id="top">
<h1>${info['title'] as string} <span class="version">${info['version'] as string}</span></h1>
${paragraphs(info['description'] as string)}
<p>To run the examples in a shell, set your API key first. The API is also available as an OpenAPI 3.1 document: <a href="/openapi.json">openapi.json</a>.</p>
<pre><code>export POSTERN_CLI_API_KEY='…'
curl '${reader.serverUrl}/edges/https' \\
  -H "Authorization: Bearer $POSTERN_CLI_API_KEY" \\
  -H 'Service-Version: 2'</code></pre>
</header>`;
}

/** A resource or module: its operations, and the object that they return. */
export function tagSection(tag: Tag, objectName: string | null, reader: DocumentReader): Html {
  return html`<section id="${tag.name}">
<h2>${tag['x-displayName']} <a class="anchor" href="#${tag.name}" aria-label="Link to this section">#</a></h2>
<p>${prose(tag.description)}</p>
${objectName !== null && objectSection(objectName, reader)}
${reader.operationsOf(tag.name).map((entry) => operationSection(entry, reader))}
</section>`;
}

/** Objects shared by several resources. */
export function sharedObjectsSection(names: readonly string[], reader: DocumentReader): Html {
  return html`<section id="shared-objects"><h2>Shared objects</h2>
<p>Objects that several operations return, and the envelopes of lists.</p>
${names.map((name) => objectSection(name, reader))}</section>`;
}

export function errorCodesSection(reader: DocumentReader): Html {
  const ofOperations = reader.document.tags.flatMap(({ name }) =>
    reader.operationsOf(name).flatMap((entry) => errorCodesOf(entry, reader)),
  );
  const codes = [...new Set([...ofOperations, ...OUTSIDE_OPERATIONS])].sort();
  return html`<section id="errors"><h2>Errors</h2>
<p>Programs should compare <code>error_code</code>; <code>msg</code> is for people. The body is an <a href="#schema-Error">Error</a>.</p>
<dl class="fields">${codes.map(
    (code) =>
      html`<div id="${code}"><dt><code>${code}</code> <span class="type">${reader.error(code).status}</span></dt><dd>${prose(reader.error(code).explanation)}</dd></div>`,
  )}</dl></section>`;
}

function objectSection(name: string, reader: DocumentReader): Html {
  const schema = reader.fieldsOf(name);
  const fields =
    schema['anyOf'] === undefined ? fieldList(schema, 'response', reader) : html`<p>One of: ${typeText(schema)}.</p>`;
  // The anchor is inside, because a browser opens the details element around a link's target.
  return html`<details class="object"><summary>The object <code>${name}</code></summary><div id="schema-${name}">${fields}</div></details>`;
}

/** Paragraphs with lists, the only markup of longer texts. */
function paragraphs(text: string): Html {
  return html`${text.split('\n\n').map((paragraph) => {
    const [first = '', ...items] = paragraph.split(/\n- /);
    return html`<p>${prose(first)}</p>${
      items.length > 0 && html`<ul class="rules">${items.map((item) => html`<li>${prose(item)}</li>`)}</ul>`
    }`;
  })}`;
}
