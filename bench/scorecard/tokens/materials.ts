/** Texts of the kinds that agents read: real prose and code of this project, made-up records, Chinese. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Dice } from './dice';

/** What a conversation is about. */
export type Material = 'prose' | 'code' | 'records' | 'chinese';

/** All materials. */
export const materials: readonly Material[] = ['prose', 'code', 'records', 'chinese'];

function filesUnder(folder: string, ending: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
}

const chineseSentences = [
  '服务器在凌晨三点重新启动，但是没有人收到通知。',
  '请检查配置文件中的端口是否与文档一致。',
  '这个函数的第二个参数可以省略，默认值为空字符串。',
  '数据库连接超时以后，程序会自动重试三次，然后报告错误。',
  '用户上传的图片太大，需要先压缩再保存到对象存储。',
  '测试没有通过：期望的结果是四十二，实际得到的是四十一。',
  '根据上个月的统计，华东地区的订单数量增长了百分之十七。',
  '如果网络中断，任务会在恢复之后从上一个检查点继续运行。',
];

const services = ['billing', 'search', 'gateway', 'mailer', 'ledger'];
const happenings = ['request served', 'retry scheduled', 'cache miss', 'token refreshed'];

function record(dice: Dice): string {
  return JSON.stringify({
    id: dice.hex(32),
    at: new Date(1_700_000_000_000 + dice.below(1e10)).toISOString(),
    service: dice.pick(services),
    message: dice.pick(happenings),
    durationMs: dice.below(5_000) / 10,
    tags: { region: `eu-${dice.below(4)}`, attempt: dice.below(3) },
  });
}

/** Gives texts of a material; each of about so many characters. */
export class MaterialSource {
  readonly #prose = filesUnder('docs', '.md').join('\n\n');
  readonly #code = filesUnder('activities', '.ts').join('\n\n');

  text(material: Material, characters: number, dice: Dice): string {
    switch (material) {
      case 'prose':
        return cut(this.#prose, characters, dice);
      case 'code':
        return cut(this.#code, characters, dice);
      case 'records':
        return lines(characters, () => record(dice));
      case 'chinese':
        return lines(characters / 3, () => dice.pick(chineseSentences));
    }
  }
}

function cut(text: string, characters: number, dice: Dice): string {
  const start = dice.below(Math.max(1, text.length - characters));
  return text.slice(start, start + characters);
}

function lines(characters: number, next: () => string): string {
  const made: string[] = [];
  for (let length = 0; length < characters;) {
    const line = next();
    made.push(line);
    length += line.length;
  }
  return made.join('\n');
}
