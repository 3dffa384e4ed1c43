/** Which models take images and PDFs: one row for each case of the table, under the names that providers have. */
import { mediaOfModel } from '../../activities/models/media-by-model';
import { routeMediaOf } from '../../activities/providers/request/request-limits';

test.each([
  ['anthropic', 'claude-sonnet-5', 'image pdf'],
  ['anthropic', 'claude-3-haiku-20240307', 'image pdf'],
  ['anthropic', 'claude-2.1', ''],
  ['anthropic', 'claude-instant-1.2', ''],
  ['openai', 'gpt-5', 'image pdf'],
  ['openai', 'gpt-4o-mini', 'image pdf'],
  ['openai', 'gpt-4-turbo', 'image pdf'],
  ['openai', 'gpt-4', ''],
  ['openai', 'gpt-4-0613', ''],
  ['openai', 'gpt-3.5-turbo', ''],
  ['openai', 'o3-mini', ''],
  ['openai', 'o3', 'image pdf'],
  ['gemini', 'gemini-3-pro', 'image'],
  ['deepseek', 'deepseek-chat', ''],
  ['qwen', 'qwen3-max', ''],
  ['qwen', 'qwen3-vl-plus', 'image'],
  ['mistral', 'mistral-large-latest', 'image'],
  ['mistral', 'codestral-latest', ''],
  ['kimi', 'kimi-k2-0905-preview', ''],
  ['kimi', 'kimi-k2.5', 'image'],
  ['openrouter', 'anthropic/claude-sonnet-4.5', 'image pdf'],
  ['openrouter', 'google/gemini-2.5-pro', 'image'],
  ['openrouter', 'deepseek/deepseek-chat', ''],
  ['openrouter', 'somebody/else', 'image'],
  ['ollama', 'llama3.2-vision', 'image'],
  ['ollama', 'qwen2.5-coder:7b', ''],
  ['ollama', 'gpt-oss:20b', ''],
  ['our-gateway', 'gpt-5', 'image pdf'],
  ['our-gateway', 'eu.claude-sonnet-4-5', 'image pdf'],
  ['vllm', 'mistral-small-3.2', 'image'],
  ['toString', 'x', 'image'],
])('%s %s takes: %s', (vendor, model, kinds) => {
  expect(mediaOfModel(vendor, model).join(' ')).toBe(kinds);
});

test('a route says the most bytes of a file: base64 makes it a third longer', () => {
  expect(routeMediaOf(['image', 'pdf'], 'anthropic')).toEqual({
    image: (5 * 1024 * 1024 * 3) / 4,
    pdf: (30 * 1024 * 1024 * 3) / 4,
  });
  expect(routeMediaOf([], 'chat')).toEqual({});
});
