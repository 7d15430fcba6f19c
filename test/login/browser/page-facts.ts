import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

/** WCAG 2.2, 1.4.3 (AA). */
const MIN_CONTRAST = 4.5;
const NARROW = { width: 320, height: 640 };

interface PageFacts {
  readonly lang: string;
  readonly title: string;
  readonly headings: readonly string[];
  readonly mains: number;
  readonly background: string;
  readonly texts: readonly { readonly text: string; readonly contrast: number }[];
  readonly isWide: boolean;
}

/** Runs in the page; a string, because the project's types have no document. */
const FACTS = `(() => {
  const rgb = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (color) => {
    const [r, g, b] = rgb(color).map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const isOpaque = (color) => rgb(color).length === 3 || rgb(color)[3] === 1;
  const backgroundOf = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return isOpaque(color) || element.parentElement === null ? color : backgroundOf(element.parentElement);
  };
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const withText = [...document.body.querySelectorAll('*')].filter((element) =>
    !['SCRIPT', 'NOSCRIPT'].includes(element.tagName) &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== ''));
  return {
    lang: document.documentElement.lang,
    title: document.title,
    headings: [...document.querySelectorAll('h1')].map((heading) => heading.textContent),
    mains: document.querySelectorAll('main').length,
    background: getComputedStyle(document.body).backgroundColor,
    texts: withText.map((element) => ({ text: element.textContent, contrast: contrast(getComputedStyle(element).color, backgroundOf(element)) })),
    isWide: document.documentElement.scrollWidth > innerWidth,
  };
})()`;

const FOCUS = `(() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return { name: document.activeElement.textContent, outlineStyle, outlineWidth: Number.parseFloat(outlineWidth) };
})()`;

/** What every page needs: a language, a landmark, one heading, readable text, no horizontal scrolling. */
export async function assertAccessible(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  const facts = await page.evaluate<PageFacts>(FACTS);
  assert.equal(facts.lang, 'en');
  assert.equal(facts.mains, 1);
  assert.deepEqual(facts.headings, [facts.title]);
  assert.ok(facts.texts.length >= 3, 'heading, words, something to go on with');
  for (const { text, contrast } of facts.texts) {
    assert.ok(contrast >= MIN_CONTRAST, `contrast of "${text}" is ${contrast.toFixed(1)}`);
  }
  const brightness = Number(/\d+/.exec(facts.background)?.[0]);
  assert.ok(colorScheme === 'dark' ? brightness < 64 : brightness > 192, `${colorScheme}: ${facts.background}`);
  const size = page.viewportSize();
  await page.setViewportSize(NARROW);
  assert.equal((await page.evaluate<PageFacts>(FACTS)).isWide, false, 'scrolls sideways on a small telephone');
  if (size !== null) await page.setViewportSize(size);
}

/** The first element that the Tab key reaches has a visible focus mark. */
export async function assertFocusVisible(page: Page): Promise<void> {
  await page.keyboard.press('Tab');
  const focus = await page.evaluate<{ name: string; outlineStyle: string; outlineWidth: number }>(FOCUS);
  assert.ok(focus.outlineStyle !== 'none' && focus.outlineWidth >= 2, JSON.stringify(focus));
}
