import type { TObject, TSchema } from 'typebox';
import { referenceAnnotation } from '../../lib/schema/annotations.ts';
import { isObjectSchema } from '../../lib/schema/schema-facts.ts';
import { type ObjectKind, sectionOf, sections } from '../sections.ts';

/** Sections with those first that others refer to, so that objects are created in the order of the file where possible. */
export function creationOrder(): readonly string[] {
  const order = new Set<string>();
  const visiting = new Set<string>();
  const visit = (key: string): void => {
    if (visiting.has(key)) return;
    visiting.add(key);
    const kinds = sections.find((section) => section.key === key)?.kinds ?? [];
    for (const kind of kinds.flatMap((each) => [...referredKinds(each)])) visit(sectionOf(kind) ?? '');
    order.add(key);
  };
  for (const { key } of sections) visit(key);
  return [...order];
}

function* referredKinds({ resource, modules, children }: ObjectKind): Iterable<string> {
  yield* kindsIn(resource.config);
  for (const module of modules) yield* kindsIn(module.config);
  for (const child of children.values()) yield* referredKinds(child);
}

function* kindsIn(schema: TObject): Iterable<string> {
  for (const field of Object.values(schema.properties)) {
    yield* referenceAnnotation(field)?.kinds ?? [];
    const { items } = field as { readonly items?: TSchema };
    if (isObjectSchema(field)) yield* kindsIn(field);
    else if (items !== undefined && isObjectSchema(items)) yield* kindsIn(items);
  }
}
