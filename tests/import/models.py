"""The models that the suite `import` brings to cairn. Each function returns a module, example inputs and a loss. The
modules come from packages, unedited, except for `encoder_lstm`, `states` and `relative`."""

import inspect

import torch
import torch.nn.functional as F


def classifies(module, x, classes, at=None):
    """A module whose output, or the output `at`, has logits of classes."""
    name = next(iter(inspect.signature(module.forward).parameters))
    inputs = {name: x, 'labels': torch.randint(0, classes, (len(x),))}
    return module, inputs, lambda outputs, given: F.cross_entropy(outputs[at] if at else outputs, given['labels'])


def images(count, size):
    return torch.randn(count, 3, size, size)


def resnet18():
    import torchvision
    return classifies(torchvision.models.resnet18(num_classes=10), images(8, 64), 10)


def mobilenet_v2():
    import torchvision
    return classifies(torchvision.models.mobilenet_v2(num_classes=10, dropout=0.0), images(8, 64), 10)


def densenet121():
    import torchvision
    return classifies(torchvision.models.densenet121(num_classes=10), images(8, 64), 10)


def unet():
    import segmentation_models_pytorch
    module = segmentation_models_pytorch.Unet('resnet18', encoder_weights=None, classes=2)
    inputs = {'x': images(4, 64), 'mask': torch.randint(0, 2, (4, 64, 64))}
    return module, inputs, lambda outputs, given: F.cross_entropy(outputs, given['mask'])


def vit_tiny():
    import timm
    return classifies(timm.create_model('vit_tiny_patch16_224', num_classes=10, img_size=64), images(8, 64), 10)


def swin():
    import torchvision
    module = torchvision.models.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=10,
                                                stochastic_depth_prob=0.0)
    return classifies(module, images(4, 64), 10)


def tokens(bound, count=4, length=32):
    return torch.randint(0, bound, (count, length))


def next_token(outputs, given):
    return F.cross_entropy(outputs.logits[:, :-1].flatten(0, 1), given['input_ids'][:, 1:].flatten())


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(n_layer=4, n_embd=128, n_head=4, vocab_size=1000, n_positions=64, bos_token_id=0, eos_token_id=0,
                        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False)
    return GPT2LMHeadModel(config), {'input_ids': tokens(1000)}, next_token


def bert():
    from transformers import BertConfig, BertForSequenceClassification
    config = BertConfig(num_hidden_layers=4, hidden_size=128, num_attention_heads=4, intermediate_size=512, vocab_size=1000,
                        num_labels=3, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
    return BertForSequenceClassification(config), {'input_ids': tokens(1000), 'labels': torch.randint(0, 3, (4,))}


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(num_hidden_layers=4, hidden_size=128, num_attention_heads=8, num_key_value_heads=2,
                         intermediate_size=344, vocab_size=1000, use_cache=False)
    return LlamaForCausalLM(config), {'input_ids': tokens(1000)}, next_token


def t5():
    from transformers import T5Config, T5EncoderModel
    config = T5Config(vocab_size=1000, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, dropout_rate=0.0)
    return T5EncoderModel(config), {'input_ids': tokens(1000)}, lambda outputs, given: outputs[0].square().mean()


class EncoderLstm(torch.nn.Module):
    """Twenty lines of our own, of modules of torch.nn alone."""

    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2)
        self.lstm = torch.nn.LSTM(64, 48, 2, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(96, 5)

    def forward(self, x):
        y, _ = self.lstm(self.encoder(x))
        return self.head(y[:, -1])


def encoder_lstm():
    return classifies(EncoderLstm(), torch.randn(8, 20, 64), 5)


class States(torch.nn.Module):
    """Reads the last states of recurrent layers, the weights of attention, and a mask. It is our own."""

    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRU(8, 6, 2, batch_first=True, bidirectional=True)
        self.lstm = torch.nn.LSTM(8, 6, batch_first=True)
        self.rnn = torch.nn.RNN(8, 6, batch_first=True)
        self.attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = torch.nn.Linear(6, 3)

    def forward(self, x, seen):
        y, weights = self.attention(x, x, x)
        y = (weights @ y).masked_fill(~(seen & (x > -1)), 0)
        features, states = self.gru(y)
        _, (_, cells) = self.lstm(y)
        _, last = self.rnn(y)
        return self.head(states[-1] + cells[0] + last.squeeze(0) + features[:, 0, :6])


def states():
    module, inputs, loss = classifies(States(), torch.randn(8, 8, 8), 3)
    return module, inputs | {'seen': torch.rand(8, 8, 8) > 0.2}, loss


class Relative(torch.nn.Module):
    """Looks up tables at constant indices: buckets of distances as in T5, a table for a window of 3 x 4 positions as in
    Swin, and features in another order. A constant mask is written through views. The model is our own."""

    def __init__(self):
        super().__init__()
        self.buckets = torch.nn.Embedding(6, 2)
        self.table = torch.nn.Parameter(torch.randn(35, 2))
        at = torch.stack(torch.meshgrid(torch.arange(3), torch.arange(4), indexing='ij')).flatten(1)
        apart = (at[:, :, None] - at[:, None, :]) + torch.tensor([2, 3]).reshape(2, 1, 1)
        self.register_buffer('relative_position_index', 7 * apart[0] + apart[1])
        self.register_buffer('order', torch.tensor([3, 0, 5, 2]), persistent=False)
        self.qkv, self.head = torch.nn.Linear(8, 24), torch.nn.Linear(4, 3)

    def forward(self, x):
        places = torch.arange(12)
        distances = (places[None, :] - places[:, None]).abs()
        bucket = torch.where(distances < 4, distances, 4 + (distances > 7).long())
        bias = self.buckets(bucket).permute(2, 0, 1)
        bias = bias + self.table[self.relative_position_index.view(-1)].view(12, 12, 2).permute(2, 0, 1)
        mask = x.new_zeros(12, 12)
        for part in (slice(0, 4), slice(4, None)):
            mask[part, part] = 1
        bias = bias + torch.where(mask > 0, 0.0, -100.0)
        q, k, v = self.qkv(x).view(-1, 12, 3, 2, 4).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2)
        y = y[..., self.order] + y.index_select(2, torch.tensor([1, 1, -1 + 8, 0]))
        nearest = y.gather(1, (places % 3).view(1, 12, 1).expand(len(x), 12, 4))
        return self.head((y + nearest[:, [0, 2, -1, 1, 3]].sum(1, keepdim=True) * distances.float()[1, 2])[:, 3])


def relative():
    return classifies(Relative(), torch.randn(8, 12, 8), 3)


def tcn():
    import pytorch_tcn
    module = pytorch_tcn.TCN(16, [32, 32, 32], dropout=0.0, output_projection=4)
    inputs = {'x': torch.randn(8, 16, 48), 'target': torch.randn(8, 4, 48)}
    return module, inputs, lambda outputs, given: F.mse_loss(outputs, given['target'])


PACKAGES = {
    resnet18: 'torchvision', mobilenet_v2: 'torchvision', densenet121: 'torchvision', unet: 'segmentation-models-pytorch',
    vit_tiny: 'timm', swin: 'torchvision', gpt2: 'transformers', bert: 'transformers', llama: 'transformers',
    t5: 'transformers', encoder_lstm: 'torch', states: 'torch', relative: 'torch', tcn: 'pytorch-tcn'}
