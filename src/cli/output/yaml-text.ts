import { Document, visit } from 'yaml';

/** Characters that a terminal could obey, or that hide in an editor. */
const UNSAFE = /[\u007f-\u009f\p{Cf}\u2028\u2029]/u;

/** A value as YAML: one field per line, nothing folded, no anchors. */
export function yamlText(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_, node) => {
      // Only a double-quoted scalar can escape them.
      if (typeof node.value === 'string' && UNSAFE.test(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  const text = document.toString({ lineWidth: 0 });
  return text.replaceAll(new RegExp(UNSAFE, 'gu'), (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
  });
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
