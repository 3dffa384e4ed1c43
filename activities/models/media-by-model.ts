/** Which models take images and PDFs, by vendor and name: the first row that fits (ADR 0056). */

type Kinds = readonly ('image' | 'pdf')[];
type Row = readonly [model: RegExp, kinds: Kinds];

const none: Kinds = [];
const images: Kinds = ['image'];
const both: Kinds = ['image', 'pdf'];

/**
 * Source: each vendor's page on models and vision. Anthropic: images from Claude 3 on, PDFs in all active models. OpenAI: PDFs
 * where images are. Gemini's, Mistral's, Moonshot's and Alibaba's compatible APIs know `image_url` and no `file`; DeepSeek's knows
 * neither.
 */
const byVendor: Readonly<Record<string, readonly Row[]>> = {
  anthropic: [
    [/claude-(?:v?[12]\b|instant)/, none],
    [/^/, both],
  ],
  openai: [
    [/^(?:ft:)?gpt-3\.5|^gpt-4(?:-\d{4}|-32k|$)|^o1-(?:mini|preview)|^o3-mini|^gpt-oss/, none],
    [/^/, both],
  ],
  gemini: [[/^/, images]],
  deepseek: [
    [/-vl|ocr/, images],
    [/^/, none],
  ],
  qwen: [
    [/vl|omni|qvq|ocr|qwen3\.[5-9]/, images],
    [/^/, none],
  ],
  mistral: [
    [/codestral|devstral|mathstral|mixtral|nemo|mistral-7b|ministral-\db-24|embed/, none],
    [/^/, images],
  ],
  kimi: [
    [/vision|kimi-latest|k2\.[5-9]|k[3-9]/, images],
    [/^/, none],
  ],
};

/** Whose model a gateway or a host serves, by the model's name. */
const makers: readonly (readonly [model: RegExp, vendor: string])[] = [
  [/claude/, 'anthropic'],
  [/^(?:ft:)?(?:gpt-|chatgpt|o\d)/, 'openai'],
  [/gemini/, 'gemini'],
  [/deepseek/, 'deepseek'],
  [/qwen|qvq/, 'qwen'],
  [/(?:mi|code|dev|math)stral|mixtral/, 'mistral'],
  [/kimi|moonshot/, 'kimi'],
];

/** Of models that nobody in the table makes: as most of today, and no documents. */
const unknown: Kinds = images;

/** OpenRouter names models `vendor/model`; other routers and hosts do so too. */
const vendorNames: Readonly<Record<string, string>> = {
  google: 'gemini',
  mistralai: 'mistral',
  moonshotai: 'kimi',
};

/** Whose rows count: the vendor's own, or those of the model's maker. */
function vendorOf(vendor: string, name: string): string | undefined {
  if (Object.hasOwn(byVendor, vendor)) return vendor;
  return makers.find(([pattern]) => pattern.test(name))?.[1];
}

/** What a model takes beside text. */
export function mediaOfModel(vendor: string, model: string): Kinds {
  const [, prefix = '', bare = ''] = /^([\w.-]{1,60})\/(.{1,200})$/.exec(model) ?? [];
  const maker = vendorNames[prefix] ?? prefix;
  if (prefix !== '' && Object.hasOwn(byVendor, maker)) return mediaOfModel(maker, bare);
  const name = model.toLowerCase();
  const rows = byVendor[vendorOf(vendor, name) ?? ''] ?? [];
  return rows.find(([pattern]) => pattern.test(name))?.[1] ?? unknown;
}
